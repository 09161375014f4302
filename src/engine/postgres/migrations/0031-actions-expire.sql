-- When the first of the calls that a run waits with is denied by itself. Null: it waits for as long as it takes.
alter table runs add column actions_expire_at timestamptz(3);
create index runs_actions_expire on runs (actions_expire_at) where status = 'requires_action';
