# SPDX-License-Identifier: BSD-3-Clause
"""Paths of the files of a scale: the only module that spells the paths of a folder of results.

::

    results/SCALE/
      datasets/DATA.npz
      runs/RUN/            curve.parquet  model.npz  meta.json
      KIND/ID/             tables and arrays of a job, meta.json; folder and files: `rbmbench.jobs`
      checkpoints/ID.npz
      specs.json           specs of all figures and tables
      specs/KEY.json       that of one, written when it is rendered
      figures/KEY.pdf png svg md   picture and caption
      data/KEY.csv                 the numbers behind a figure
      tables/KEY.csv md tex
      notebooks/KEY.ipynb html
      claims.{csv,json}  report/index.html  benchmarks/  forecast.csv  logs/
"""

from dataclasses import dataclass

CURVE, MODEL, META = "curve.parquet", "model.npz", "meta.json"
EVALUATION = "evaluation"  # folder in a run's, with the evaluation that `rbmbench fit` makes of it
FIT_PICTURES, FIT_PAGE = {"curve": "curve.png", "filters": "filters.png", "samples": "samples.png"}, "index.html"
"""Files that `rbmbench fit` adds to those of a run."""
TRUTH, BIAS = "ground_truth.npz", "bias.parquet"
STOPPING_TIMES, ISL, SHOWN = "stopping_times.parquet", "isl.parquet", "shown.npz"
CERTIFICATE, TIMES = "certificate.parquet", "times.parquet"

REFERENCE = "results/reference"  # folder of the kept results of the repository, with a folder for each scale
KEPT_ARENA = f"{REFERENCE}/desktop"

RUNS, EVALUATIONS, BLOCKS = "runs", "evaluations", "blocks"
"""Folders of training runs, of their annealed likelihoods and of blocks of trials. Kinds of jobs name their own."""
PICTURE_ENDINGS = ("pdf", "png", "svg")
FIGURE_ENDINGS = (*PICTURE_ENDINGS, "md", "json")
TABLE_ENDINGS, NOTEBOOK_ENDINGS = ("csv", "md", "tex", "json"), ("ipynb", "html")


@dataclass(frozen=True)
class Layout:
    """Paths below one folder, which need not exist; ids and keys may be wildcards such as ``{run}``."""

    root: str  # the folder of a scale, results/SCALE

    @classmethod
    def of(cls, scale: str) -> "Layout":
        """Return the layout of a scale, below the working folder."""
        return cls(f"results/{scale}")

    def job(self, folder: str, identity: str, file: str = "") -> str:
        path = f"{self.root}/{folder}/{identity}"
        return f"{path}/{file}" if file else path

    def data_set(self, data: str) -> str:
        return f"{self.root}/datasets/{data}.npz"

    def checkpoint(self, identity: str) -> str:
        return f"{self.root}/checkpoints/{identity}.npz"

    def log(self, stage: str, name: str, ending: str = "log") -> str:
        return f"{self.logs}/{stage}/{name}.{ending}"

    @property
    def specs(self) -> str:
        return f"{self.root}/specs.json"

    def spec(self, key: str) -> str:
        return f"{self.root}/specs/{key}.json"

    def figure(self, key: str, ending: str) -> str:
        return f"{self.root}/figures/{key}.{ending}"

    def numbers(self, key: str) -> str:
        return f"{self.root}/data/{key}.csv"

    def packed_numbers(self, key: str) -> str:
        return f"{self.numbers(key)}.gz"

    def table(self, key: str, ending: str) -> str:
        return f"{self.root}/tables/{key}.{ending}"

    def notebook(self, key: str, ending: str = "ipynb") -> str:
        return f"{self.root}/notebooks/{key}.{ending}"

    def notebooks(self, key: str) -> list[str]:
        return [self.notebook(key, ending) for ending in NOTEBOOK_ENDINGS]

    def figure_files(self, key: str) -> list[str]:
        return [*(self.figure(key, ending) for ending in FIGURE_ENDINGS), self.numbers(key), *self.notebooks(key)]

    def table_files(self, key: str) -> list[str]:
        return [*(self.table(key, ending) for ending in TABLE_ENDINGS), *self.notebooks(key)]

    def benchmark(self, name: str) -> str:
        return f"{self.root}/benchmarks/{name}"

    @property
    def logs(self) -> str:
        return f"{self.root}/logs"

    @property
    def claims(self) -> str:
        return f"{self.root}/claims.csv"

    @property
    def verdicts(self) -> str:
        """The verdicts as records, of which the table is a view."""
        return f"{self.root}/claims.json"

    @property
    def report(self) -> str:
        return f"{self.root}/report/index.html"

    @property
    def forecast(self) -> str:
        return f"{self.root}/forecast.csv"
