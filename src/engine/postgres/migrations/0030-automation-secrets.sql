-- Secrets of webhooks that were rotated away and still count: as many as there were rotations meanwhile.
create table automation_secrets (
  id ulid primary key,
  automation_id ulid not null references automations on delete cascade,
  token_hash bytea not null,
  sealed_secret text not null,
  expires_at timestamptz(3) not null
);
create index automation_secrets_of on automation_secrets (automation_id, id desc);

-- Those of before were sealed under their automation's id, which no row here has: they end now.
alter table automations drop column token_hash_before, drop column sealed_secret_before, drop column before_until;

-- What an automation's run cost is the sum of its attempts.
create index runs_of_automation on runs (automation_run_id) where automation_run_id is not null;
