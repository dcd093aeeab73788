"""Claims of a blog on average precision (AP) and other measures.

The claims: R-precision closely follows MAP, AP varies widely over queries, P@k is the least stable measure, accuracy
does not suit retrieval, and the AP values in a worked example are correct.
"""

TITLE = "Average precision"
PUBLICATION = (
    "A blog on learning to rank and its measures, which follows C. Manning, P. Raghavan and H. Schütze: Introduction "
    "to Information Retrieval. Cambridge University Press 2008, section 8.4."
)
