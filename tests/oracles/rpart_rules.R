# Records what rpart does where a value equals a threshold and where no surrogate decides, on small tables made for fasttree.
# Licence of script and tables: BSD-3-Clause.  Run by hand: Rscript tests/oracles/rpart_rules.R > tests/oracles/rpart_rules.json
library(rpart)
library(jsonlite)
stopifnot(packageVersion("rpart") == "4.1.19")

LEVELS <- 1:5  # of the column o, an ordered factor

frame <- function(table) {
  if (!is.null(table$o)) table$o <- factor(table$o, levels = LEVELS, ordered = TRUE)
  table
}

record <- function(name, train, y, new, weight = rep(1, length(y)), folds = 0, method = "class", ...) {
  control <- modifyList(list(minsplit = 2, minbucket = 1, cp = 0, maxdepth = 30, maxsurrogate = 5, usesurrogate = 2,
                             surrogatestyle = 0), list(...))
  samples <- cbind(frame(train), y = if (method == "class") factor(y) else y, weight = weight)
  predictors <- paste(names(train), collapse = " + ")
  fit <- eval(substitute(
    rpart(formula, samples, weights = weight, method = method, control = do.call(rpart.control, c(control, list(xval = folds)))),
    list(formula = as.formula(paste("y ~", predictors)))))
  ids <- as.integer(row.names(fit$frame))
  list(name = name, method = method, control = control, train = as.list(train), y = y, weight = weight, new = as.list(new),
       folds = if (length(folds) > 1) folds, nodes = data.frame(id = ids, n = fit$frame$n, wt = fit$frame$wt, dev = fit$frame$dev),
       where = ids[fit$where], predict = unname(as.matrix(predict(fit, frame(new)))),
       cptable = if (length(folds) > 1) unname(fit$cptable))
}

# where no surrogate decides
lost <- data.frame(x = c(1, 1, 1, 1, 3, 3, 3, NA, NA), z = 5)
of_lost <- c(0, 0, 0, 0, 1, 1, 1, 1, 1)
unknown <- data.frame(x = c(NA, 1, 3), z = c(5, NA, 5))
cases <- lapply(c(2, 1, 0), function(use)
  record(paste0("no surrogates, usesurrogate=", use), lost, of_lost, unknown, maxsurrogate = 0, usesurrogate = use))

sides <- function(name, low, high, weight_low, weight_high, ...) {
  n <- low + high
  train <- data.frame(x = c(rep(1, low), rep(3, high), NA), s = c(rep(1, low), rep(2, high), NA))
  record(name, train, c(rep(0, low), rep(8, high), 7), data.frame(x = c(NA, NA, NA, 1), s = c(NA, 1, 2, NA)), method = "anova",
         weight = c(rep(weight_low, low), rep(weight_high, high), 1), maxdepth = 1, ...)
}
cases <- c(cases, list(
  sides("more samples, less weight", 6, 2, 1, 5),
  sides("more samples, less weight, no surrogates", 6, 2, 1, 5, maxsurrogate = 0),
  sides("equal weights, more samples", 4, 2, 1, 2),
  sides("equal samples once the lost one has joined", 3, 2, 1, 2),
  sides("equal samples, more weight", 3, 3, 1, 2, maxsurrogate = 0)))

# a value that equals a threshold
cases <- c(cases, list(
  record("midpoint", data.frame(x = c(1, 1, 1, 3, 3, 3)), c(0, 0, 0, 1, 1, 1), data.frame(x = c(1, 1.999, 2, 2.001, 3))),
  record("midpoint at 0", data.frame(x = c(-1, -1, -1, 1, 1, 1)), c(0, 0, 0, 1, 1, 1), data.frame(x = c(-1, -1e-300, 0, 1e-300))),
  record("midpoint of a fraction", data.frame(x = c(.1, .1, .1, .3, .3, .3)), c(0, 0, 0, 1, 1, 1),
         data.frame(x = c(.1, .199, .2, .3))),
  record("midpoint of surrogates", data.frame(x = c(1, 1, 1, 1, 3, 3, 3, 3), up = c(1, 1, 1, 3, 3, 3, 3, 3),
                                              down = c(8, 8, 8, 8, 6, 6, 6, 8)), c(0, 0, 0, 0, 1, 1, 1, 1),
         data.frame(x = NA_real_, up = c(1, 2, 3, NA, NA, NA), down = c(NA, NA, NA, 6, 7, 8)), maxdepth = 1),
  record("ordered levels without samples between", data.frame(o = c(1, 1, 1, 5, 5, 5)), c(0, 0, 0, 1, 1, 1),
         data.frame(o = LEVELS))))

# everything together, with cross-validation on folds whose values equal thresholds of the others'
RNGversion("4.0.0")
together <- function(name, seed, method, share, ...) {
  set.seed(seed)
  make <- function(n, share, grid) {
    full <- data.frame(a = sample(grid, n, TRUE), b = sample(grid, n, TRUE), c = sample(grid, n, TRUE))
    full$b <- ifelse(runif(n) < .5, full$a, full$b)
    full$c <- ifelse(runif(n) < .4, 25 - full$a, full$c)
    table <- full
    for (column in names(table)) table[[column]][runif(n) < share] <- NA
    list(full = full, table = table)
  }
  samples <- make(60, share, 0:25)
  signal <- samples$full$a + .5 * samples$full$b + rnorm(60, 0, 5)
  y <- if (method == "class") as.integer(signal > 15) + as.integer(signal > 24) else round(8 * signal) / 8
  weight <- round(runif(60, .3, 3), 3)
  record(name, samples$table, y, make(60, .3, seq(0, 25, .5))$table, weight, rep(1:6, length.out = 60), method, cp = .01,
         minsplit = 8, minbucket = 3, ...)
}
cases <- c(cases, list(
  together("classes", 201, "class", 0),
  together("numbers", 202, "anova", 0),
  together("classes with missing values", 203, "class", .2),
  together("numbers with missing values", 204, "anova", .2, surrogatestyle = 1),
  together("classes without surrogates", 205, "class", 0, maxsurrogate = 0),
  together("numbers without surrogates", 206, "anova", 0, maxsurrogate = 0)))

about <- paste("What rpart 4.1.19 makes of small tables made for fasttree, recorded by rpart_rules.R. `nodes` by rpart's ids;",
               "`predict`: class shares or means of the rows of `new`; `folds`: groups of `xval`; the columns of `cptable` are CP,",
               "nsplit, rel error, xerror, xstd; null is a missing value")
cat("{\"about\": ", toJSON(about, auto_unbox = TRUE), ",\n \"cases\": [\n", sep = "")
cat(paste(vapply(cases, function(case) as.character(toJSON(case, digits = NA, auto_unbox = TRUE, na = "null", null = "null")), ""),
          collapse = ",\n"), "\n]}\n", sep = "")
