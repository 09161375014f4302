-- Runs that wait, workspace by workspace: each gets its share of the starts.
create index automation_runs_waiting on automation_runs (workspace_id, id) where status = 'queued';
drop index automation_runs_queued;

-- The relay takes what is there: nobody asks by transaction any more.
drop index outbox_xid;
