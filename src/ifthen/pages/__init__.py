"""HTML pages, each one file that needs nothing else: the explain page of a policy, the report of a run."""

from ifthen.pages.report import inline_svg, report_page

__all__ = ["inline_svg", "report_page"]
