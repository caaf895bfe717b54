"""How long the steps took and which worker lags: the ground of StepOutlier."""
