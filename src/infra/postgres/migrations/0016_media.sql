-- Calls of media: what was asked, whether it has left for a vendor, the jobs there, and what is held for it.

create table media_jobs (
  id ulid primary key,
  -- For whom it goes on, as `operations` has it.
  account_id ulid not null,
  key_id ulid,
  scopes text[],
  held_to ulid,
  workspace_id ulid not null,
  -- What shows it; null: a request waits for it.
  operation_id ulid unique,
  -- The server process that works on it; null, or gone: any may.
  process_id ulid,
  kind text not null check (kind in ('image', 'video', 'speech', 'transcription')),
  -- waiting: nothing of it has left. sent: a vendor may have it. made: what came of it is here, and not settled yet.
  status text not null default 'waiting' check (status in ('waiting', 'sent', 'made', 'over')),
  request jsonb not null,
  -- Who pays, as the ledger has it.
  payer jsonb not null,
  -- From here on known when it is sent: the call, the offer without its endpoint's secrets, and what is held.
  call jsonb,
  offer jsonb,
  reserved_nano bigint,
  -- One per request to the vendor: how many it asks for, and the job there once it is known.
  parts jsonb not null default '[]',
  -- What it is settled on.
  outcome jsonb,
  result jsonb,
  error jsonb,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp()
);
create index media_jobs_open on media_jobs (updated_at) where status <> 'over';
create index media_jobs_ended on media_jobs (updated_at) where status = 'over';

-- Pictures and sound that a call brought, until it is over.
create table media_job_inputs (
  job_id ulid not null references media_jobs on delete cascade,
  -- The field of the request, and its place there.
  field text not null,
  place int not null,
  sha256 char(64) collate "C" not null references blobs,
  name text not null,
  facts jsonb not null,
  primary key (job_id, field, place)
);
create index media_job_inputs_blob on media_job_inputs (sha256);
