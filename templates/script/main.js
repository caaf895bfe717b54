/** The scripts of a report's page. The page works without any of them. */
import "./folds.js";
import "./charts.js";
import "./pointer_values.js";
import "./lanes_soon.js";
import "./running.js";
import "./tables.js";
import "./choices.js";
import "./histogram_keys.js";
import "./look.js";
import "./navigation.js";
import "./open_all.js";
import "./print.js";
