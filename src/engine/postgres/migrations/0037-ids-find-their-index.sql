-- Ids are char(26): compared with text, no index of theirs can be used.
drop function shares_of;
create function shares_of(account ulid, workspaces ulid[]) returns setof shares language sql stable as $$
  select * from shares where account_id = account
  union all select * from shares where claimed_by = account
  union all select * from shares where workspace_id = any(workspaces)
  union all select s.* from accounts a join shares s on lower(s.email) = lower(a.email) and s.claimed_by is null
    where a.id = account and a.email_verified_at is not null
$$;
