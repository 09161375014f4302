-- Media calls: requests, jobs at vendors, and reservations.

create table media_jobs (
  id ulid primary key,
  -- The account and credential, as in `operations`.
  account_id ulid not null,
  key_id ulid,
  scopes text[],
  held_to ulid,
  workspace_id ulid not null,
  -- The operation that shows it. Null: a request waits for it.
  operation_id ulid unique,
  -- The process working on it. Null or dead: any process may take it.
  process_id ulid,
  kind text not null check (kind in ('image', 'video', 'speech', 'transcription')),
  -- waiting: nothing sent yet. sent: a vendor may have it. made: results are here, not settled yet.
  status text not null default 'waiting' check (status in ('waiting', 'sent', 'made', 'over')),
  request jsonb not null,
  -- The payer, as in the ledger.
  payer jsonb not null,
  -- Known once sent: the call, the offer without the endpoint's secrets, and the reservation.
  call jsonb,
  offer jsonb,
  reserved_nano bigint,
  -- One per request to the vendor: the number of results, and the job once known.
  parts jsonb not null default '[]',
  -- The settlement.
  outcome jsonb,
  result jsonb,
  error jsonb,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp()
);
create index media_jobs_open on media_jobs (updated_at) where status <> 'over';
create index media_jobs_ended on media_jobs (updated_at) where status = 'over';

-- Input pictures and sounds, until the job is over.
create table media_job_inputs (
  job_id ulid not null references media_jobs on delete cascade,
  -- The request's field, and the position in it.
  field text not null,
  place int not null,
  sha256 char(64) collate "C" not null references blobs,
  name text not null,
  facts jsonb not null,
  primary key (job_id, field, place)
);
create index media_job_inputs_blob on media_job_inputs (sha256);
