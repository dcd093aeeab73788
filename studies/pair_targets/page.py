"""The page of the study: the claims on target probabilities, and the tables that support the verdicts."""

from typing import Any

from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.study import Inputs, PageSection
from studies.pair_targets.claims import Claim, claims_on_tables, claims_on_targets
from studies.pair_targets.noise import noise

CLAIMS = (Column("claim", "claim"), Column("source", "from"), Column("found", "found"), Column("verdict", "verdict"))


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page."""
    (job,) = inputs.jobs()
    noise_section, noise_claims = noise(job["draws"])
    claims = [*claims_on_tables(job["combined"], job["circles"]), *claims_on_targets(job["draws"]), *noise_claims]
    claims_section = _claims(claims, len(job["draws"]))
    return [claims_section, _combined(job["combined"]), _circles(job["circles"]), noise_section]


def _claims(claims: list[Claim], draws: int) -> PageSection:
    """Return the section on the claims."""
    table = Table("claims", "Claims", CLAIMS, claims)
    lost = [claim.claim for claim in claims if not claim.holds]
    verdict = f"{len(claims) - len(lost)} of {len(claims)} claims hold" + (
        f"; not: {'; '.join(lost)}." if lost else "."
    )
    return PageSection(
        "claims",
        "Learning from targets that are probabilities",
        [
            "A pair's target is the probability P that the first document ranks above the second; RankNet's cost of "
            "the pair is −P o + log(1 + e^o), o the difference of the two outputs (section 3). Here targets come "
            "without features, so that every item has an output of its own, and with ten, of which the outputs are "
            f"linear. {draws} random tasks of each kind.",
            verdict,
        ],
        [table],
    )


def _combined(rows: list[dict[str, Any]]) -> PageSection:
    """Return the section on two combined targets."""
    columns = [
        Column("p_ij", "P_ij", ".1f"),
        Column("p_jk", "P_jk", ".1f"),
        Column("formula", "P_ik, formula", ".4f"),
        Column("learned", "P_ik, learned", ".4f"),
    ]
    paragraph = (
        "Three items, of which the first and the second, and the second and the third, are pairs; the first and the "
        "third are not. The outputs then give these two P_ik = P_ij P_jk / (1 + 2 P_ij P_jk − P_ij − P_jk)."
    )
    return PageSection(
        "combined", "Two targets say a third", [paragraph], [Table("combined", "Combined", columns, rows)]
    )


def _circles(rows: list[dict[str, Any]]) -> PageSection:
    """Return the section on three targets in a circle."""
    ends = ("ij", "jk", "ki")
    columns = [Column(f"p_{end}", f"P_{end}, target", ".2f") for end in ends]
    columns += [Column(f"learned_{end}", f"P_{end}, learned", ".4f") for end in ends]
    columns += [Column(f"best_{end}", f"P_{end}, Newton", ".4f") for end in ends]
    paragraph = (
        "Targets that go in a circle, or that no outputs can have for another reason, are not an error: training ends "
        "where the cross-entropy is least, as Newton's method finds it too. Equal targets all around leave ties."
    )
    return PageSection(
        "circles", "Three targets in a circle", [paragraph], [Table("circles", "Circles", columns, rows)]
    )
