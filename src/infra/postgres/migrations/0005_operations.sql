-- Server processes, leases, and operations, which outlive a request.

create table leases (
  name text primary key,
  holder ulid not null,
  fence bigint not null default 1,
  expires_at timestamptz not null
);

-- Live server processes: they hold reservations and runs, and share limits.
create table processes (
  id ulid primary key,
  started_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- To detect its death: boot ID and PID namespace, and the name that its jobs are locked under.
  place text,
  pid int,
  worker_pool text,
  -- Where it listens for the instance's other processes, `host:port`.
  peer text
);
create index processes_expiry on processes (expires_at);

-- Values that every process of the instance shares.
create table instance (
  name text primary key,
  value jsonb not null
);

create table operations (
  id ulid primary key,
  account_id ulid not null,
  workspace_id ulid,
  -- The only workspace that the caller's credential can access.
  held_to ulid,
  key_id ulid,
  kind text not null,
  status text not null default 'queued' check (status in ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired')),
  progress double precision,
  input jsonb not null default '{}',
  -- The process running it.
  process_id ulid,
  attempts int not null default 0,
  result jsonb,
  error jsonb,
  resource_type text,
  resource_id text,
  -- Its chat, which may be shared: people with access through a share can see operations they started.
  chat_id text,
  content_type text,
  content text,
  content_file_id ulid,
  content_expires_at timestamptz(3),
  -- How long to keep the content.
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
