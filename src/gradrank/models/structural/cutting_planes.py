"""The method of cutting planes, which minimises |w|^2 / 2 + C R(w).

R must be convex and not negative. The caller gives a function that returns the values and the subgradients of R. The
problem is the one-slack form of structural support vector machines (Joachims, Finley & Yu 2009; Teo et al. 2010). R is
approximated from below by the maximum of its tangent planes. Each step replaces R by this maximum, solves the dual of
the resulting small quadratic program, and adds the tangent plane at the solution. The planes do not depend on C, so all
values of C share them.
"""

from collections.abc import Callable

import numpy as np

from gradrank.base.compiled import compiled

Risk = Callable[[np.ndarray], tuple[float, np.ndarray]]  # (d,) weights -> R, (d,) subgradient
IDLE = 100  # a plane is dropped if its share has been 0 for this many steps
STALLED = 100  # a search ends after this many steps without progress; no search on MQ2007 takes more than 60 steps
MOVES = 100  # the largest number of moves per plane in one quadratic program


class CuttingPlanes:
    """The tangent planes b_k + a_k . w of one function R. The first plane is zero everywhere."""

    def __init__(self, risk: Risk, features: int, gap: float) -> None:
        """Create a solver that has only the zero plane.

        risk: function that returns R and its subgradient. features: the number of features d. gap: a search ends when
        (primal - dual) / primal is at most `gap`. The weights w then differ from the optimal weights w* by
        |w - w*|^2 <= 2 gap primal.
        """
        self.risk, self.gap = risk, gap
        self.slopes, self.constants = np.zeros((1, features)), np.zeros(1)
        self.alpha, self.idle = np.ones(1), np.zeros(1, np.int64)  # alpha: the shares of the planes, with sum 1

    def solve(self, C: float) -> np.ndarray:
        """Return the (d,) weights for one value of C.

        The search starts with the planes of the previous call and with their shares.
        """
        best, least, since = np.zeros(self.slopes.shape[1]), np.inf, 0
        w = -C * self._mixed()
        while since < STALLED:
            value, slope = self.risk(w)
            primal = 0.5 * float(w @ w) + C * value
            since = 0 if primal < (1.0 - 0.1 * self.gap) * least else since + 1
            if primal < least:
                best, least = w, primal
            self._add(slope, value - float(slope @ w))
            accuracy = 0.1 * self.gap * least / C
            kernel = np.einsum("id,jd->ij", self.slopes, self.slopes)
            ascend(kernel, self.constants, self.alpha, C, accuracy)
            mixed = self._mixed()
            w = -C * mixed
            dual = C * float(self.alpha @ self.constants) - 0.5 * C * C * float(mixed @ mixed)
            if least - dual <= self.gap * least:
                break
            self._drop_idle()
        return best

    def _mixed(self) -> np.ndarray:
        return np.einsum("k,kd->d", self.alpha, self.slopes)

    def _add(self, slope: np.ndarray, constant: float) -> None:
        self.slopes = np.vstack([self.slopes, slope])
        self.constants, self.alpha = np.append(self.constants, constant), np.append(self.alpha, 0.0)
        self.idle = np.append(self.idle, 0)

    def _drop_idle(self) -> None:
        self.idle = np.where(self.alpha > 0.0, 0, self.idle + 1)
        kept = self.idle < IDLE
        kept[0] = True
        self.slopes, self.constants = self.slopes[kept], self.constants[kept]
        self.alpha, self.idle = self.alpha[kept], self.idle[kept]


@compiled("f8[:,:], f8[:], f8[:] out, f8, f8")
def ascend(kernel, constants, alpha, C, accuracy):
    """Maximise constants . alpha - C / 2 alpha' kernel alpha over the shares alpha >= 0 with sum 1, in place.

    The height of a plane is its value at the current weights. Each step moves a part of the share of one plane to
    another plane: from the lowest plane with a positive share to the plane with the largest gain (Fan, Chen & Lin
    2005). The steps end when no plane is higher than the lowest plane with a positive share by more than `accuracy`.

    kernel: (k, k) inner products of the slopes of the planes. constants, alpha: (k,).
    """
    count = len(alpha)
    height = constants.copy()
    for i in range(count):
        if alpha[i] > 0.0:
            for j in range(count):
                height[j] -= C * alpha[i] * kernel[j, i]
    for _ in range(MOVES * count):
        low = -1
        for i in range(count):
            if alpha[i] > 0.0 and (low < 0 or height[i] < height[low]):
                low = i
        high, most, highest = -1, 0.0, 0.0
        for i in range(count):
            rise = height[i] - height[low]
            if rise > 0.0:
                curve = max(C * (kernel[i, i] + kernel[low, low] - 2.0 * kernel[i, low]), 1e-300)
                gain = rise * min(rise / curve, alpha[low])
                highest = max(highest, rise)
                if gain > most:
                    high, most = i, gain
        if high < 0 or highest <= accuracy:
            return
        curve = max(C * (kernel[high, high] + kernel[low, low] - 2.0 * kernel[high, low]), 1e-300)
        step = min((height[high] - height[low]) / curve, alpha[low])
        alpha[high] += step
        alpha[low] = alpha[low] - step if step < alpha[low] else 0.0
        for i in range(count):
            height[i] -= C * step * (kernel[i, high] - kernel[i, low])
