"""How far it scales: many jobs in flight at once, one job that gets long, searches and event
streams beside others.

model       what the model answers in both parts, and after how long
deployment  a throw-away Redis, worker processes as we recommend them, the model's HTTP server
flight      many jobs through that, from their admission to the end of the last
baseline    the same graph in one process of its own, without persistence
length      one job of so many tool calls, and what each has cost
memory      what processes take, with all that they have started
search      what one reader's searches cost everybody else: `python -m benchmarks.scale.search`
load        submissions beside searches and event streams, of several releases in turn: `python -m
            benchmarks.scale.load`
side        what that measures: a deployment that runs, or a throw-away one of a checkout
readers     readers of event streams
paced       requests at a steady pace, and what came of them
figures     from what was measured to ratios, and to what they were to be
"""
