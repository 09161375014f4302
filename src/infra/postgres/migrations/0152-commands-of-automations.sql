-- The operation by which a run of an automation runs its command on a computer.
alter table automation_runs add column operation_id ulid;
create index automation_runs_operation on automation_runs (operation_id) where operation_id is not null;
