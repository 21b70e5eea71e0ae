"""`fettle up`, and every command against it, as on a user's machine."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from support.processes.fettle_command import Running, environment, fettle, started
from support.servers.collector import collector

from cli.local import ports
from lab.drills.process_tree import children

pytestmark = pytest.mark.e2e

TASK = "Write a binary search and test it on 20 numbers."
RECORDED = ("--model", "recording:demo-binary-search")


class Deployment:
    """A running `fettle up`, and commands that use it."""

    def __init__(self, cwd: Path, stack: ExitStack) -> None:
        port, self.flower = ports.free(2)
        self.cwd = cwd
        self.traces = stack.enter_context(collector())
        of_libraries = self.traces.environment()
        self.env = environment(cwd, FETTLE_URL=f"http://127.0.0.1:{port}", **of_libraries)
        (cwd / "flowerconfig.py").write_text("raise SystemExit('nobody asked for this file')\n")
        self._flags = ("--port", str(port), "--flower-port", str(self.flower))
        self._stack = stack
        self.start()

    def start(self) -> None:
        up = started("up", *self._flags, cwd=self.cwd, env=self.env)
        self.up: Running = self._stack.enter_context(up)
        self.up.wait_for("stop: Ctrl-C")

    def stop(self) -> None:
        """Send Ctrl-C; fails if a process or file remains."""
        self.up.interrupt()
        assert self.up.end(25) == 0
        assert self.up.orphans == 0
        assert "Traceback" not in self.up.text

    def run(self, *args: str) -> str:
        done = fettle(*args, cwd=self.cwd, env=self.env)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def json(self, *args: str) -> dict:
        return json.loads(self.run(*args, "--json"))


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    with ExitStack() as stack:
        deployment = Deployment(tmp_path_factory.mktemp("up"), stack)
        yield deployment
        deployment.stop()


def test_up_prints_the_address_of_each_service(deployment):
    assert f"{deployment.env['FETTLE_URL']}/docs" in deployment.up.text
    assert "key: fettle-development-key" in deployment.up.text
    deployment.up.wait_for("worker   | ")
    link = deployment.up.text.partition("pages: ")[2].split()[0]
    assert link.startswith(f"{deployment.env['FETTLE_URL']}/app/sign-in/")
    assert "Sign in as development" in httpx.get(link).text
    assert httpx.post(link).headers["location"] == "/app"
    assert httpx.get(link).status_code == 401
    assert httpx.get(f"{deployment.env['FETTLE_URL']}/docs").status_code == 200


def test_no_data_of_a_job_goes_to_a_service_from_a_librarys_variables(deployment):
    job = deployment.json("run", TASK, *RECORDED, "--record", "job.yaml")
    assert job["status"] == "succeeded"
    assert "everything is the same" in deployment.run("replay", job["id"])
    assert "LANGSMITH_TRACING" in deployment.up.text  # the logs of API and worker name the variable
    assert deployment.traces.received == []


def test_flower_requires_its_password(deployment):
    url = f"http://127.0.0.1:{deployment.flower}/"
    password = deployment.up.text.partition("user fettle, password ")[2].split()[0]
    ends = time.monotonic() + 30
    while not ports.is_taken(ports.LOOPBACK, deployment.flower):  # `up` is ready before Flower is
        assert time.monotonic() < ends
        time.sleep(0.05)
    assert httpx.get(url, timeout=30).status_code == 401
    assert httpx.get(url, auth=("fettle", password), timeout=30).status_code == 200
    for process in Path("/proc").glob("[0-9]*"):
        try:
            assert password.encode() not in (process / "cmdline").read_bytes()
        except OSError:
            continue


def test_flower_shows_workers_hints_and_their_queue(deployment):
    password = deployment.up.text.partition("user fettle, password ")[2].split()[0]
    base = f"http://127.0.0.1:{deployment.flower}"
    with httpx.Client(base_url=base, auth=("fettle", password), timeout=30) as flower:
        ends, task_name = time.monotonic() + 60, ""
        while not task_name:  # Flower asks new workers for their hints every few seconds
            assert time.monotonic() < ends
            job = deployment.json("run", TASK, *RECORDED)
            tasks = flower.get("/api/tasks?limit=1000").json().values()
            task_name = next((task["name"] for task in tasks if job["id"] in task["args"]), "")
        assert task_name == "fettle.look"
        assert set(flower.get("/api/workers?status=true").json().values()) == {True}
        queues = flower.get("/api/queues/length").json()["active_queues"]
        assert [queue["name"] for queue in queues] == ["fettle"]


def test_run_list_and_show(deployment):
    job = deployment.json("run", TASK, *RECORDED, "--label", "first")
    assert job["status"] == "succeeded"
    listed = deployment.json("list", "--label", "first")
    assert [summary["id"] for summary in listed["jobs"]] == [job["id"]]
    job_text = deployment.run("show", job["id"], "--save", "saved")
    assert "run 1: verify, exit 0" in job_text
    assert "verdict: approve" in job_text
    assert (deployment.cwd / "saved" / "binary_search.py").exists()
    watched = deployment.run("watch", job["id"])
    assert "succeeded: approved by critic" in watched
    assert f"follow up: `fettle run --conversation {job['id']} " in watched.splitlines()[-1]
    wrote = deployment.run("export", job["id"]).partition("**tool** write_file binary_search.py")[2]
    assert wrote.lstrip().startswith("```python\n")
    assert "def binary_search" in wrote


def test_a_review_from_another_shell(deployment):
    job_id = deployment.run("run", TASK, *RECORDED, "--review", "--no-wait").strip()
    with started("watch", job_id, cwd=deployment.cwd, env=deployment.env) as watch:
        watch.wait_for(f"decide: fettle review {job_id} ")
        assert deployment.json("show", job_id)["status"] == "awaiting_review"
        change = deployment.run("show", job_id).partition("\nanswer:\n")[2]
        assert f"`fettle patch {job_id}` writes all of it" in change
        assert "+def binary_search" in change
        assert f"decide with `fettle review {job_id} " in change.splitlines()[-1]
        deployment.run("review", job_id, "approve")
        assert watch.end() == 0
    assert "decided: approve, by " in watch.text


def test_a_review_on_a_terminal(deployment):
    command = ("run", TASK, *RECORDED, "--review")
    with started(*command, cwd=deployment.cwd, env=deployment.env, terminal=True) as run:
        run.wait_for("decide: ")
        run.type("perhaps\n")
        run.wait_for("please one of")
        run.type("app\n")
        assert run.end() == 0
    assert "def binary_search" not in run.text.partition("decide: ")[2]
    assert "approved by" in run.text


def test_ctrl_c_does_not_end_the_job_and_names_the_command_to_follow_it(deployment):
    command = ("run", TASK, *RECORDED, "--review")
    with started(*command, cwd=deployment.cwd, env=deployment.env) as run:
        run.wait_for("decide: ")
        run.interrupt()
        assert run.end() == 130
    job_id = run.text.split()[1]
    assert f"fettle watch {job_id}" in run.text
    assert deployment.json("show", job_id)["status"] == "awaiting_review"
    deployment.run("cancel", job_id)
    done = fettle("watch", job_id, cwd=deployment.cwd, env=deployment.env)
    assert (done.returncode, "cancelled: for good" in done.stdout) == (5, True)
    again = fettle("cancel", job_id, cwd=deployment.cwd, env=deployment.env)
    assert (again.returncode, "cancelled" in again.stdout) == (0, True)


def test_keys_are_made_and_revoked(deployment):
    key = deployment.json("keys", "create", "reader", "--scope", "read")
    as_reader = {**deployment.env, "FETTLE_API_KEY": key["secret"]}
    assert fettle("list", cwd=deployment.cwd, env=as_reader).returncode == 0
    refused = fettle("run", TASK, *RECORDED, cwd=deployment.cwd, env=as_reader)
    assert (refused.returncode, "The key may not do this" in refused.stderr) == (1, True)
    deployment.run("keys", "revoke", key["id"])
    assert fettle("list", cwd=deployment.cwd, env=as_reader).returncode == 1
    assert "reader" in deployment.run("keys", "list")


def test_doctor_reports_no_fault(deployment):
    report = deployment.json("doctor")
    findings = {finding["name"].strip(): finding for finding in report["findings"]}
    assert report["ok"]
    assert findings["appendfsync"]["text"] == "always"
    assert findings["sandbox"]["health"] == "good"
    assert "demo-kmeans" in findings["models"]["text"]


def test_a_dead_worker_is_restarted(deployment):
    pid = next(w for w in deployment.json("doctor")["findings"] if w["name"] == "workers")["text"]
    os.kill(int(pid.split(":")[1]), signal.SIGKILL)
    deployment.up.wait_for("ended with signal 9; starts again", 20)
    assert deployment.json("run", TASK, *RECORDED)["status"] == "succeeded"
    ends = time.monotonic() + 20
    while zombies := [child for child in children(deployment.up.pid) if child.state == "Z"]:
        assert time.monotonic() < ends, zombies
        time.sleep(0.05)


def test_a_second_up_on_the_same_data_is_refused(deployment):
    done = fettle("up", cwd=deployment.cwd, env=deployment.env)
    assert done.returncode == 1
    assert "another `fettle up` runs" in done.stderr


def test_a_used_port_is_named(deployment, tmp_path):
    port = deployment.env["FETTLE_URL"].rpartition(":")[2]
    done = fettle("up", "--port", port, cwd=tmp_path, env=deployment.env)
    assert done.returncode == 1
    assert f"port {port} is taken" in done.stderr
    assert "--port" in done.stderr


def test_an_interrupt_during_the_start_leaves_no_process(tmp_path):
    env = environment(tmp_path)
    port, flower = map(str, ports.free(2))
    flags = ("--port", port, "--flower-port", flower, "--workers", "2")
    with started("up", *flags, cwd=tmp_path, env=env) as up:
        up.wait_until_caught(signal.SIGHUP)
        up.wait_for("redis    | ")
        up.interrupt()
        assert up.end(25) in (0, 130)
    assert "Traceback" not in up.text


def test_jobs_survive_a_restart_of_all_programs(deployment):
    job_id = deployment.run("run", TASK, *RECORDED, "--review", "--no-wait").strip()
    with started("watch", job_id, cwd=deployment.cwd, env=deployment.env) as watch:
        watch.wait_for("decide: ")
    deployment.stop()
    deployment.start()
    deployment.run("review", job_id, "approve")
    assert "succeeded: approved by " in deployment.run("watch", job_id)
