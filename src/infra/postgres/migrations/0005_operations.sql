-- Server processes, what they hold among each other, and operations, which outlive a request.

create table leases (
  name text primary key,
  holder ulid not null,
  fence bigint not null default 1,
  expires_at timestamptz not null
);

-- Server processes that are alive: who holds reservations and runs, and by how many a limit is divided.
create table processes (
  id ulid primary key,
  started_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- Where it runs (boot and pid namespace) and under which name its jobs are locked: for finding out that it died.
  place text,
  pid int,
  worker_pool text,
  -- Where it listens for the other processes of its instance, `host:port`.
  peer text
);
create index processes_expiry on processes (expires_at);

-- Values of the instance that must not differ between its processes.
create table instance (
  name text primary key,
  value jsonb not null
);

create table operations (
  id ulid primary key,
  account_id ulid not null,
  workspace_id ulid,
  -- The only workspace that its starter's credential reaches.
  held_to ulid,
  key_id ulid,
  kind text not null,
  status text not null default 'queued' check (status in ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired')),
  progress double precision,
  input jsonb not null default '{}',
  -- The process that runs it.
  process_id ulid,
  attempts int not null default 0,
  result jsonb,
  error jsonb,
  resource_type text,
  resource_id text,
  -- The chat that it goes on in, which may be shared: who has a place there by a share has it with what they began.
  chat_id text,
  content_type text,
  content text,
  content_file_id ulid,
  content_expires_at timestamptz(3),
  -- How long its content is kept once there is some.
  content_seconds int,
  cost_nano bigint,
  scopes text[],
  cancel_requested_at timestamptz(3),
  started_at timestamptz(3),
  completed_at timestamptz(3),
  expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index operations_account on operations (account_id, id desc);
create index operations_open on operations (status) where status in ('queued', 'running');

-- Counted before each new operation.
create index operations_open_of on operations (account_id) where status in ('queued', 'running');
