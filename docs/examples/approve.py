"""Submits a task, shows the work as it arrives, and asks you to approve it or to send it back:

python docs/examples/approve.py "Plot a sine wave into sine.png"
"""

import sys
from pathlib import Path

from fettle import Client, types

CONTROLS = dict.fromkeys({*range(32), *range(127, 160)} - {9, 10})  # they command a terminal
with Client() as client:
    job = client.submit(sys.argv[1], review=True)
    print("follow it at", job.page)
    for event in job.events():
        match event:
            case types.PlannedEvent(data=plan):
                print("\n- ".join(["\nPlan", *plan.steps]).translate(CONTROLS))
            case types.RunFinishedEvent(data=run):
                text = f"\nCode\n{run.code.text}\nOutput\n{run.stdout.text}{run.stderr.text}"
                print(text.translate(CONTROLS))
                for picture in run.artifacts:  # in a folder of their own: they replace no file
                    path = Path(job.id, Path(picture.name).name)
                    path.parent.mkdir(exist_ok=True)
                    path.write_bytes(job.artifact(picture.name, digest=picture.digest))
                    print("Picture", path)
            case types.ReviewOpenedEvent():
                feedback = input("\nEnter approves; your words send it back: ")
                job.revise(feedback) if feedback else job.approve()
    print("\nFiles", *job.result().files)
