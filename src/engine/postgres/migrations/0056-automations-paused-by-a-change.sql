-- Ticks of what is paused because its agent was changed leave a row of their own kind.
alter table automation_runs drop constraint automation_runs_skip_reason_check;
alter table automation_runs add constraint automation_runs_skip_reason_check
  check (skip_reason in ('overlap', 'missed', 'archived', 'budget', 'rate_limited', 'paused')) not valid;
-- Which automations an agent is behind is asked with every change of one.
create index automations_agent on automations ((action ->> 'agent_id'));
create index automations_chat on automations ((action ->> 'chat_id')) where action ->> 'chat_id' is not null;
create index agents_subagents on agents using gin (subagents jsonb_path_ops);
