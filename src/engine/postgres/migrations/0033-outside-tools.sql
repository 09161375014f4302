-- What an agent uses beside the endpoints of this server: outside servers of the Model Context Protocol, and other agents.
alter table agents
  add column mcp_servers jsonb not null default '[]',
  -- The headers that go to them, by server: JSON, sealed under the agent's id.
  add column sealed_headers text,
  add column subagents jsonb not null default '[]';

-- Runs of tasks that were handed on and have not ended: whoever stands above them may.
create index runs_delegated on runs (parent_run_id)
  where parent_call is not null and status in ('queued', 'running', 'requires_action');
