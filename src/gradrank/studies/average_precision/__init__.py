"""The claims of a blog on average precision: R-precision tracks MAP, AP varies over queries, a worked example."""

TITLE = "Average precision"
PUBLICATION = (
    "A blog on learning to rank and its measures, which follows C. Manning, P. Raghavan and H. Schütze: Introduction "
    "to Information Retrieval. Cambridge University Press 2008, section 8.4."
)
