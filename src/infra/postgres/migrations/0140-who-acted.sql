-- A run names the automation that it goes back to, so that whatever its agent does can name it too.
alter table runs add automation_id ulid;
update runs set automation_id = r.automation_id from automation_runs r where r.id = runs.automation_run_id;

-- Who did what is audited: the account and the way in, and the key, run and automation where there was one.
alter table audit add actor jsonb;
create index audit_at on audit (id desc);
