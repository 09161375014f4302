-- Who last set what an agent may use, with how much of their rights: its tools reach no further than they do.
alter table agents add column tools_by jsonb;
-- Until now only the version tells: the first of those that have had the same tools since.
update agents a set tools_by = jsonb_build_array(jsonb_build_object('account_id', (
  select v.created_by from agent_versions v
  where v.agent_id = a.id and v.version > coalesce((
    select max(w.version) from agent_versions w where w.agent_id = a.id and (
      w.definition -> 'tools' is distinct from a.tools
      or coalesce(w.definition -> 'mcp_servers', '[]') is distinct from a.mcp_servers
      or coalesce(w.definition -> 'subagents', '[]') is distinct from a.subagents)), 0)
  order by v.version limit 1), 'scopes', null, 'held_to', null));
-- What does not say who it was reaches nothing.
alter table agents alter column tools_by set default '[{"account_id":null,"scopes":null,"held_to":null}]',
  alter column tools_by set not null;
