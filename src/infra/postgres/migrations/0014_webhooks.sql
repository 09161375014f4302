-- Outgoing webhooks and their deliveries.

create table webhook_endpoints (
  id ulid primary key,
  workspace_id ulid not null references workspaces on delete cascade,
  name text not null,
  url text not null,
  events text[] not null,
  -- The creator's permissions at the time. Null: all.
  scopes text[],
  status text not null default 'enabled' check (status in ('enabled', 'disabled')),
  disabled_reason text check (disabled_reason in ('manual', 'failing', 'gone', 'rights_lost', 'account_recovered')),
  disabled_at timestamptz(3),
  secret text not null,
  -- A secret from before webhook_endpoint_secrets, and when the newest rotated one expires.
  previous_secret text,
  previous_expires_at timestamptz(3),
  -- Since when all attempts have failed.
  failing_since timestamptz(3),
  last_success_at timestamptz(3),
  created_by ulid,
  -- The account responsible for the endpoint: it created it, changed its events or URL, or enabled it last. Deliveries
  -- stop when that account loses access.
  account_id ulid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index webhook_endpoints_workspace on webhook_endpoints (workspace_id, id desc);

-- Rotated secrets that still sign.
create table webhook_endpoint_secrets (
  id ulid primary key,
  endpoint_id ulid not null references webhook_endpoints on delete cascade,
  sealed_secret text not null,
  expires_at timestamptz(3) not null
);
create index webhook_endpoint_secrets_of on webhook_endpoint_secrets (endpoint_id, id desc);

create table webhook_deliveries (
  id ulid primary key,
  endpoint_id ulid not null references webhook_endpoints on delete cascade,
  -- The event's ID, the same for every attempt and redelivery: receivers deduplicate by it.
  message_id ulid not null,
  event_type text not null,
  payload text not null,
  redelivery_of ulid,
  status text not null default 'waiting' check (status in ('waiting', 'succeeded', 'failed', 'cancelled')),
  attempts jsonb not null default '[]',
  -- When the next attempt is due; during an attempt, when it counts as lost.
  due_at timestamptz(3),
  completed_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index webhook_deliveries_list on webhook_deliveries (endpoint_id, id desc);
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, due_at) where status = 'waiting';
create unique index webhook_deliveries_once on webhook_deliveries (endpoint_id, message_id) where redelivery_of is null;
create index webhook_deliveries_old on webhook_deliveries (created_at);
