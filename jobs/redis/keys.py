"""The names of all keys and channels that Fettle uses in Redis.

fettle:job:{id}             hash    the record
fettle:job:{id}:events      list    "at body": its number is its place; packed when the job is final
fettle:job:{id}:facts       set     keys of the events that were appended  } as long as an attempt,
fettle:job:{id}:journal     hash    finished calls                         } or a retry, goes on
fettle:job:{id}:charges     hash    the charges, by call id
fettle:job:{id}:spend       hash    the job's account, see lua/reserve.lua
fettle:spend:{key}:{day}    hash    a key's account of a day (days since 1970, UTC); expires
fettle:spend:tenant:{t}:{d} hash    a tenant's account of a day; expires
fettle:job:{id}:decided     list    the job's members of fettle:decisions
fettle:job:{id}:blobs       set     digests of the bytes that the job refers to
fettle:due                  zset    jobs that are queued or running, by `due_at`
fettle:awaiting_review      zset    jobs that wait for a person, by the sweeper's next look (+inf)
fettle:reviews:{tenant}     hash    jobs that wait for a person: the place of each in an inbox
                                    (jobs.view.inbox)
fettle:finished             zset    jobs that are final, by their end
fettle:blobs:references     hash    digest: how many jobs refer to it
fettle:blobs:loose          zset    digests without a reference, by the time they lost it
fettle:blobs:going          hash    digests of bytes that are being removed, until a time
fettle:slots:{provider}     list    times of its last and next requests; expires
fettle:hold:{model}         string  no call of the model is made until it expires
fettle:capabilities         hash    the abilities of models' servers that workers learned, by model
fettle:turn:{name}          string  the lock of work for the fleet; expires
fettle:jobs:{tenant}[:s]    zset    listings by creation: all, by status, label, person, model,
                                    repository, conversation, batch, those that begin a
                                    conversation, and those with an override; jobs of another kind
                                    than tasks have their own, after `:kind:{k}`
fettle:queue:{tenant}:{p}   zset    jobs of a priority that wait for a worker, by creation
fettle:barred:{tenant}:{p}  zset    jobs with an open review that this person may not approve
fettle:words:{tenant}       zset    all words that find jobs, in alphabetical order
fettle:word:{tenant}:{w}    zset    the jobs that have a word, by creation
fettle:webhooks:{tenant}    hash    the webhooks of a tenant (JSON), by id
fettle:deliveries           zset    messages to webhooks, by the time of the next try
fettle:deliveries:dead      zset    messages that are not tried any more, by the last try
fettle:delivery:{id}        hash    one message
fettle:decisions:{tenant}   zset    the events that are decisions, as job:number, by time
fettle:audited              set     tenants that have an audit log
fettle:audit:pending:{t}    list    entries that wait for the sealer, as "at body"
fettle:audit:log:{t}        zset    sealed entries (lines), by their number
fettle:audit:head:{t}       hash    number and hash of the newest sealed entry; the entries that
                                    were signed and trimmed last
fettle:unindexed            list    jobs that wait for the index of words
fettle:line:{tenant}:{c}    list    a conversation's jobs that are not final, in order
fettle:behind:{tenant}      hash    jobs that wait in a line: their priority
fettle:turns:{tenant}:{c}   list    its finished jobs, newest first
fettle:once:{tenant}:{key}  hash    idempotency keys; each is removed with its job
fettle:counts               hash    jobs by status, queued ones by priority, and those of them that
                                    wait for another of their line
fettle:unfinished           hash    jobs that are queued or running, by API key
fettle:changes              hash    how often jobs of a tenant were added, changed or removed
fettle:numbers:{tenant}:{d} hash    counts of a day's jobs: see jobs.counting; expires
fettle:ready:{priority}     list    in the broker: tenants in the order of their turns
fettle:ready:{p}:{tenant}   zset    in the broker: jobs with a hint, by its time
fettle:rate...              string  in the broker: requests of a key; expires
fettle:worker:{id}          string  a worker's announcement; expires
fettle:drain:{id}           string  a request to this worker to drain; expires
fettle:workers              zset    workers, by their last announcement
fettle:fleet                string  the rules for all workers, and who changed them
fettle:review_rules         hash    the review rules that were set at run time, and who set them
fettle:key:{digest}         hash    an API key
fettle:keys                 hash    the id of each key -> its digest
fettle:key-names            hash    tenant:name of the keys that are not revoked -> id
fettle:key-uses             hash    id of a key -> the time (ms) of its last use
fettle:tenant:{t}           hash    the spending limits of a tenant
fettle:tenants              set     tenants that have spending limits
fettle:checkpoint:{id}...           the checkpoints of a job, and fettle:checkpoint!...: see
                                    worker.checkpoints
fettle:pages:secret         string  signs the cookies of the pages
fettle:pages:link:{digest}  string  a link that signs in once, expiring
fettle:pages:ended:{nonce}  string  a session that was signed out, expiring
fettle:events:{id}          channel the number of the newest event
fettle:tokens:{id}          channel the output of its models while it streams
fettle:inquiries            channel inquiries; one of the workers answers each
fettle:inquiry:{id}         string  a worker has taken the inquiry; expires
fettle:answers:{id}         channel the answer to an inquiry
fettle:stop                 channel ids of jobs; a running attempt at such a job must stop now
"""

from __future__ import annotations

from dataclasses import dataclass

PREFIX = "fettle:"
JOB = PREFIX + "job:"
DUE = PREFIX + "due"
AWAITING_REVIEW = PREFIX + "awaiting_review"
FINISHED = PREFIX + "finished"
REFERENCES = PREFIX + "blobs:references"
UNREFERENCED = PREFIX + "blobs:loose"
DELETING = PREFIX + "blobs:going"
COUNTS = PREFIX + "counts"
CHANGES = PREFIX + "changes"
UNFINISHED = PREFIX + "unfinished"
WORKERS = PREFIX + "workers"
FLEET = PREFIX + "fleet"
REVIEW_RULES = PREFIX + "review_rules"
CAPABILITIES = PREFIX + "capabilities"
TENANTS = PREFIX + "tenants"
DELIVERIES = PREFIX + "deliveries"
DEAD_DELIVERIES = PREFIX + "deliveries:dead"
UNINDEXED = PREFIX + "unindexed"
AUDITED_TENANTS = PREFIX + "audited"
STOP = PREFIX + "stop"
INQUIRIES = PREFIX + "inquiries"
CHECKPOINT = PREFIX + "checkpoint"
PAGES_SECRET = PREFIX + "pages:secret"


@dataclass(frozen=True, slots=True)
class JobKeys:
    """The keys of one job."""

    id: str

    @property
    def record(self) -> str:
        """Hash."""
        return f"{JOB}{self.id}"

    @property
    def events(self) -> str:
        """List."""
        return f"{JOB}{self.id}:events"

    @property
    def facts(self) -> str:
        """Set."""
        return f"{JOB}{self.id}:facts"

    @property
    def journal(self) -> str:
        """Hash."""
        return f"{JOB}{self.id}:journal"

    @property
    def charges(self) -> str:
        """Hash."""
        return f"{JOB}{self.id}:charges"

    @property
    def spend(self) -> str:
        """Hash."""
        return f"{JOB}{self.id}:spend"

    @property
    def blobs(self) -> str:
        """Set."""
        return f"{JOB}{self.id}:blobs"

    @property
    def decided(self) -> str:
        """List."""
        return f"{JOB}{self.id}:decided"

    @property
    def all(self) -> tuple[str, ...]:
        """Every key that is removed with the job, except its checkpoints."""
        hashes = (self.record, self.events, self.facts, self.journal, self.charges, self.spend)
        return (*hashes, self.blobs, self.decided)

    @property
    def working(self) -> tuple[str, ...]:
        """Keys that only serve to continue the job, besides the checkpoints."""
        return (self.journal, self.facts)

    @property
    def channel(self) -> str:
        """Channel."""
        return f"{PREFIX}events:{self.id}"

    @property
    def tokens(self) -> str:
        """Channel."""
        return f"{PREFIX}tokens:{self.id}"


def _encode_tenant(tenant: str) -> str:
    """A tenant's name as a part of a key, encoded so that it cannot match another tenant's."""
    return tenant.replace("%", "%25").replace(":", "%3A")


def worker(worker_id: str) -> str:
    """String that expires."""
    return f"{PREFIX}worker:{worker_id}"


def drain(worker_id: str) -> str:
    """String that expires: a request to the worker to drain."""
    return f"{PREFIX}drain:{worker_id}"


def spend_of_key(key_id: str, day: str) -> str:
    """Hash that expires: the account of a key for a day."""
    return f"{PREFIX}spend:{key_id}:{day}"


def spend_of_tenant(tenant: str, day: str) -> str:
    """Hash that expires: the account of a tenant for a day. No key has the id `tenant`."""
    return f"{PREFIX}spend:tenant:{_encode_tenant(tenant)}:{day}"


def tenant_limits(tenant: str) -> str:
    """Hash: max_cost_usd_per_day, max_tokens_per_day."""
    return f"{PREFIX}tenant:{_encode_tenant(tenant)}"


def slots(provider: str) -> str:
    """List that expires: the times of requests to a provider."""
    return f"{PREFIX}slots:{provider}"


def hold(model: str) -> str:
    """String that expires: until then, no call of the model is made."""
    return f"{PREFIX}hold:{model}"


def lock(name: str) -> str:
    """String that expires."""
    return f"{PREFIX}turn:{name}"


def line(tenant: str, conversation_id: str) -> str:
    """List of the conversation's jobs that are not final."""
    return f"{PREFIX}line:{_encode_tenant(tenant)}:{conversation_id}"


def conversation(tenant: str, conversation_id: str) -> str:
    """List of the conversation's finished jobs, newest first."""
    return f"{PREFIX}turns:{_encode_tenant(tenant)}:{conversation_id}"


def queued(priority: str) -> str:
    """Field of `counts`: how many jobs of this priority are queued."""
    return f"queued:{priority}"


def behind(tenant: str) -> str:
    """Hash: jobs that wait for another job of their conversation, with their priority."""
    return f"{PREFIX}behind:{_encode_tenant(tenant)}"


def sign_in_link(digest: str) -> str:
    """String that expires: the key that the link with this token digest signs in."""
    return f"{PREFIX}pages:link:{digest}"


def ended_session(nonce: str) -> str:
    """String that expires with the session."""
    return f"{PREFIX}pages:ended:{nonce}"


def day_counts(tenant: str, day: str) -> str:
    """Hash that expires."""
    return f"{PREFIX}numbers:{_encode_tenant(tenant)}:{day}"


def once(tenant: str, idempotency_key: str) -> str:
    """Hash: job, body."""
    return f"{PREFIX}once:{_encode_tenant(tenant)}:{idempotency_key}"


def listing(tenant: str, field: str = "", value: str = "", *, kind: str = "task") -> str:
    """Sorted set of job ids by creation time: only jobs with this value in this field. `override`
    has no value; without a field, all jobs."""
    base = f"{PREFIX}jobs:{_encode_tenant(tenant)}"
    if kind != "task":
        base = f"{base}:kind:{kind}"
    return ":".join(filter(None, (base, field, value)))


def webhooks(tenant: str) -> str:
    """Hash: the webhooks of a tenant, by id."""
    return f"{PREFIX}webhooks:{_encode_tenant(tenant)}"


def queue(tenant: str, priority: str) -> str:
    """Sorted set of jobs of all kinds, by creation time: queued jobs that wait for no other job of
    their conversation."""
    return f"{PREFIX}queue:{_encode_tenant(tenant)}:{priority}"


def delivery(delivery_id: str) -> str:
    """Hash: body, tries, error."""
    return f"{PREFIX}delivery:{delivery_id}"


def decisions(tenant: str) -> str:
    """Sorted set of job:number of events, by their time."""
    return f"{PREFIX}decisions:{_encode_tenant(tenant)}"


def audit_pending(tenant: str) -> str:
    """List."""
    return f"{PREFIX}audit:pending:{_encode_tenant(tenant)}"


def audit_log(tenant: str) -> str:
    """Sorted set of lines, by their number."""
    return f"{PREFIX}audit:log:{_encode_tenant(tenant)}"


def audit_head(tenant: str) -> str:
    """Hash: seq, hash, signed_day, signed_seq, trimmed_seq."""
    return f"{PREFIX}audit:head:{_encode_tenant(tenant)}"


def reviews(tenant: str) -> str:
    """Hash: the stored `jobs.view.inbox.WaitingReview` of each job that waits for a person."""
    return f"{PREFIX}reviews:{_encode_tenant(tenant)}"


def ineligible_approvers(tenant: str, mark: str) -> str:
    """Sorted set of jobs, by creation time: a mark of `jobs.transitions.reviews`, such as an
    identity key whose person may not approve the job."""
    return f"{PREFIX}barred:{_encode_tenant(tenant)}:{mark}"


def words(tenant: str) -> str:
    """Sorted set of words, in the order of their letters."""
    return f"{PREFIX}words:{_encode_tenant(tenant)}"


def word(tenant: str, word_text: str) -> str:
    """Sorted set of job ids by creation time."""
    return f"{PREFIX}word:{_encode_tenant(tenant)}:{word_text}"


def inquiry(inquiry_id: str) -> str:
    """String."""
    return f"{PREFIX}inquiry:{inquiry_id}"


def answers(inquiry_id: str) -> str:
    """Channel."""
    return f"{PREFIX}answers:{inquiry_id}"
