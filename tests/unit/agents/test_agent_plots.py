"""Which tasks need a picture."""

from __future__ import annotations

import pytest

from agents.plots import asks_for_plot, has_image


@pytest.mark.parametrize(
    "task",
    [
        "Plot the data.",
        "Cluster 150 points and save a plot with the centroids marked X.",
        "Draw a histogram of 100 random numbers",
        "make a bar chart",
        "Visualize the sorting steps",
        "visualise it",
        "a heatmap, please",
        "a scatter plot",
        "Compute the mean, then plotting is next.",
        "Use matplotlib for it",
        "Do not use seaborn, but plot it.",
        "PLOTS of both",
    ],
)
def test_a_picture_is_asked_for(task: str) -> None:
    assert asks_for_plot(task)


@pytest.mark.parametrize(
    "task",
    [
        "Write a binary search.",
        "Subplotting is not a word here",  # inside of a word
        "Read the flowchart.txt file",
        "Find exploits in this function",
        "Sort the charter flights",
        "Print the mean; no plot.",
        "Summarise without a plot",
        "Don't plot anything.",
        "Do not draw any charts.",
        "Summarise the plot of the novel",
        "Print an ASCII chart",
        "plot-free output",
        "def histogram(test): # the letter that is there most often",
    ],
)
def test_no_picture_is_asked_for(task: str) -> None:
    assert not asks_for_plot(task)


def test_pictures_go_by_their_names() -> None:
    assert has_image(["a.txt", "out/Plot.PNG"])
    assert not has_image(["png", "plot.png.txt"])
