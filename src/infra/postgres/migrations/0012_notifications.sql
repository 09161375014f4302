-- Notifications, delivery preferences, and deliveries.

create table notifications (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  workspace_id ulid,
  -- Null: the server.
  sender_id ulid,
  type text not null,
  title text not null,
  body text,
  severity text not null check (severity in ('info', 'success', 'warning', 'error')),
  resource_type text,
  resource_id text,
  action_url text,
  status text not null default 'unread' check (status in ('unread', 'read')),
  read_at timestamptz(3),
  -- Not listed if the recipient turned off in-app delivery for this type.
  in_app boolean not null default true,
  -- Deduplication key: one notification per event.
  told_of text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index notifications_list on notifications (account_id, id desc);
create index notifications_unread on notifications (account_id) where status = 'unread' and in_app;
create unique index notifications_once on notifications (account_id, told_of) where told_of is not null;

-- Deliveries by email and push. `sent`: accepted by the mail queue or the push service.
create table notification_deliveries (
  id ulid primary key,
  notification_id ulid not null references notifications on delete cascade,
  account_id ulid not null,
  channel text not null check (channel in ('email', 'push')),
  status text not null default 'waiting' check (status in ('waiting', 'sent', 'failed', 'skipped')),
  due_at timestamptz(3) not null,
  -- The process delivering it. A dead process's claim expires.
  claimed_by ulid,
  error text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index notification_deliveries_of on notification_deliveries (notification_id);
create index notification_deliveries_due on notification_deliveries (account_id, due_at) where status = 'waiting';

-- Only differences from the defaults.
create table notification_preferences (
  account_id ulid not null references accounts on delete cascade,
  type text not null,
  channel text not null check (channel in ('in_app', 'email', 'push')),
  enabled boolean not null,
  digest text not null default 'none' check (digest in ('none', 'hourly', 'daily')),
  updated_at timestamptz(3) not null default now(),
  primary key (account_id, type, channel)
);

create table notification_configs (
  account_id ulid primary key references accounts on delete cascade,
  toasts boolean not null default true,
  sound boolean not null default true,
  quiet_hours jsonb,
  digest_at text not null default '08:00',
  -- When the last confirmation email was sent.
  confirmation_sent_at timestamptz(3),
  updated_at timestamptz(3) not null default now()
);

create table push_subscriptions (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  -- The endpoint URL is a secret: anyone who has it can push.
  endpoint_hash bytea not null unique,
  endpoint text not null,
  keys text not null,
  user_agent text,
  last_success_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- Pushes stop with the session or key that subscribed.
  session_id ulid references sessions on delete cascade,
  key_id ulid references api_keys on delete cascade
);
create index push_subscriptions_session on push_subscriptions (session_id);
create index push_subscriptions_key on push_subscriptions (key_id) where key_id is not null;
create index push_subscriptions_account on push_subscriptions (account_id, id desc);

-- Budget warnings already sent, once per cap, period and threshold; and balances when last topped up.
create table cap_marks (
  subject ulid not null,
  mark text not null,
  at timestamptz(3) not null default now(),
  primary key (subject, mark)
);

create table filled_balances (
  account_id ulid primary key references accounts on delete cascade,
  nano bigint not null,
  at timestamptz(3) not null default now()
);
