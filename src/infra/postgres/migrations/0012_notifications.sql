-- What people are told, where they want to hear of it, and what became of each way out.

create table notifications (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  workspace_id ulid,
  -- Who sent it; null for the server itself.
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
  -- Not listed where the recipient wants this type elsewhere only.
  in_app boolean not null default true,
  -- What it tells of: one thing is told once.
  told_of text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index notifications_list on notifications (account_id, id desc);
create index notifications_unread on notifications (account_id) where status = 'unread' and in_app;
create unique index notifications_once on notifications (account_id, told_of) where told_of is not null;

-- Ways out that are not the app: `sent` is what the mail queue or a push service has taken.
create table notification_deliveries (
  id ulid primary key,
  notification_id ulid not null references notifications on delete cascade,
  account_id ulid not null,
  channel text not null check (channel in ('email', 'push')),
  status text not null default 'waiting' check (status in ('waiting', 'sent', 'failed', 'skipped')),
  due_at timestamptz(3) not null,
  -- Who pushes it now: two who look at once must not both. The claim of a process that died holds nothing up.
  claimed_by ulid,
  error text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index notification_deliveries_of on notification_deliveries (notification_id);
create index notification_deliveries_due on notification_deliveries (account_id, due_at) where status = 'waiting';

-- Only what differs from the defaults.
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
  -- When they were last sent a mail to confirm their address.
  confirmation_sent_at timestamptz(3),
  updated_at timestamptz(3) not null default now()
);

create table push_subscriptions (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  -- The address is a secret of its own: who has it may push.
  endpoint_hash bytea not null unique,
  endpoint text not null,
  keys text not null,
  user_agent text,
  last_success_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- Pushes end with the session or the key that subscribed.
  session_id ulid references sessions on delete cascade,
  key_id ulid references api_keys on delete cascade
);
create index push_subscriptions_session on push_subscriptions (session_id);
create index push_subscriptions_key on push_subscriptions (key_id) where key_id is not null;
create index push_subscriptions_account on push_subscriptions (account_id, id desc);

-- Caps whose nearing end was told of, once per cap, period and step; and what a balance was when it was last filled.
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
