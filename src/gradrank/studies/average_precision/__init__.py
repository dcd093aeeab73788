"""Three claims of a blog on average precision (AP).

R-precision closely follows MAP, AP varies widely over queries, and a worked example has the printed values of AP.
"""

TITLE = "Average precision"
PUBLICATION = (
    "A blog on learning to rank and its measures, which follows C. Manning, P. Raghavan and H. Schütze: Introduction "
    "to Information Retrieval. Cambridge University Press 2008, section 8.4."
)
