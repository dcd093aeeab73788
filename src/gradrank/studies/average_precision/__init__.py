"""What a blog says of measures: R-precision tracks MAP, AP spreads over queries, and a worked example."""

TITLE = "Average precision"
PUBLICATION = (
    "A blog on learning to rank and its measures, which follows C. Manning, P. Raghavan and H. Schütze: Introduction "
    "to Information Retrieval. Cambridge University Press 2008, section 8.4."
)
