-- What a member may spend on model calls in a workspace, by which keys, and which models are for whom.
alter table members
  add spend_cap_nano bigint check (spend_cap_nano >= 0),
  add spend_cap_period text not null default 'month' check (spend_cap_period in ('day', 'week', 'month', 'total')),
  -- `workspace`: models of this workspace only by keys that are held to it.
  add keys text not null default 'any' check (keys in ('any', 'workspace')),
  -- Null: all.
  add allowed_models text[];
alter table workspaces
  add keys text not null default 'any' check (keys in ('any', 'workspace')),
  add allowed_models text[];
alter table api_keys add allowed_models text[];
-- Who is invited under a budget never works without it.
alter table invitations
  add spend_cap_nano bigint check (spend_cap_nano >= 0),
  add spend_cap_period text not null default 'month' check (spend_cap_period in ('day', 'week', 'month', 'total'));

-- From here on a member of a team is added up in every period, as a workspace is. What was spent before is known by the day.
insert into spends (subject, period, nano)
  select m.id, p.period, sum(u.cost_nano)
  from usage_days u
    join members m on m.workspace_id = u.workspace_id and m.account_id = u.account_id
    join workspaces w on w.id = m.workspace_id and w.kind = 'team',
    unnest(array[to_char(u.day, 'YYYY-MM-DD'), to_char(u.day, 'IYYY"-W"IW'), to_char(u.day, 'YYYY-MM'), 'total'])
      p(period)
  where p.period = 'total' or p.period in (to_char(now() at time zone 'UTC', 'YYYY-MM-DD'),
    to_char(now() at time zone 'UTC', 'IYYY"-W"IW'), to_char(now() at time zone 'UTC', 'YYYY-MM'))
  group by 1, 2 having sum(u.cost_nano) > 0
  on conflict (subject, period) do nothing;
