-- Decides whether each of many calls may be sent: grants or refuses them in one step, in their order.
--
-- Accounts and holds are lists without doubles, each with what the whole batch asks of it, a hold also with the lowest cap
-- that is put to it. `shared` is what the calls of one payer and model have in common; by place it has an account (0:
-- nothing is drawn), the words of its holds as an array's (`subjects`, `periods`), and from `first_hold` to `last_hold` in
-- `hold_at` the places of its holds, with their caps in `caps`. A call has its worst case, the least that is of use to it,
-- and the place of its shared part. Answers a row per call that did not get its worst case: `refused_by` is 0 for the
-- balance, n for its n-th hold, -1 for a call that is reserved already, and `amount` what was there; null: it was granted,
-- with `amount` held.
--
-- Where there is enough for all, nothing is looked up before it is taken: setting a statement up takes PostgreSQL longer
-- than what it does to a few rows. Where there is not, what was taken is given back, and each caller is looked at in turn.
-- Locks come in one order, here and in settle_calls: reservations by call, balances by account, spends by subject and
-- period. So none waits in a circle. Statements are planned once, and never by reading a table: tables of calls in progress
-- are nearly empty whenever anybody counts their rows, and with what was deleted since the last vacuum they are not.
create function reserve_calls(
  process bpchar, accounts bpchar[], account_asked bigint[], hold_subjects bpchar[], hold_periods text[],
  hold_asked bigint[], hold_cap bigint[], shared jsonb, payers bpchar[], subjects text[], periods text[],
  account_at int[], first_hold int[], last_hold int[], hold_at int[], caps bigint[], ids bpchar[], starts bigint[],
  worsts bigint[], leasts bigint[], places int[]
) returns table (item int, refused_by int, amount bigint) language plpgsql
set search_path from current set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  balance bigint[];
  used bigint[];
  taken bigint[] := array_fill(0::bigint, array[cardinality(accounts)]);
  added bigint[] := array_fill(0::bigint, array[cardinality(hold_subjects)]);
  -- Null: refused.
  held bigint[] := worsts;
  open bpchar[];
  room bigint;
  a int;
  too_little int;
  enough int;
begin
  begin
    if cardinality(accounts) > 0 then
      if cardinality(accounts) > 1 then
        -- Not taken without its lock in order: a row may appear while this waits for another.
        perform 1 from balances where account_id = any(accounts) order by account_id for update;
        get diagnostics enough = row_count;
        if enough < cardinality(accounts) then
          raise sqlstate 'UK402';
        end if;
      end if;
      update balances b set nano = b.nano - x.asked from unnest(accounts, account_asked) x(id, asked)
        where b.account_id = x.id and b.nano >= x.asked;
      get diagnostics enough = row_count;
      if enough < cardinality(accounts) then
        raise sqlstate 'UK402';
      end if;
    end if;
    if cardinality(hold_subjects) > 0 then
      if cardinality(hold_subjects) > 1 then
        perform 1 from unnest(hold_subjects, hold_periods) x(s, p) join spends b on b.subject = x.s and b.period = x.p
          order by b.subject, b.period for update of b;
        get diagnostics enough = row_count;
        if enough < cardinality(hold_subjects) then
          raise sqlstate 'UK402';
        end if;
      end if;
      update spends b set held = b.held + x.asked
        from unnest(hold_subjects, hold_periods, hold_asked, hold_cap) x(s, p, asked, cap)
        where b.subject = x.s and b.period = x.p and b.nano + b.held + x.asked <= x.cap;
      get diagnostics enough = row_count;
      if enough < cardinality(hold_subjects) then
        raise sqlstate 'UK402';
      end if;
    end if;
    perform reserved_calls(process, shared, payers, subjects, periods, account_at, ids, starts, held, places);
    return;
  exception when sqlstate 'UK402' or unique_violation then
    null;
  end;

  open := array(select call_id from reservations where call_id = any(ids));
  if cardinality(accounts) > 0 then
    -- What is not locked is not there: a first grant that comes meanwhile counts from the next call on.
    with locked as materialized (
      select account_id, nano from balances where account_id = any(accounts) order by account_id for update
    )
    select array_agg(coalesce(b.nano, 0) order by x.n) into balance
      from unnest(accounts) with ordinality x(id, n) left join locked b on b.account_id = x.id;
  end if;
  if cardinality(hold_subjects) > 0 then
    -- Makes what is missing and locks what is there, in one pass; `where false` locks without writing.
    insert into spends (subject, period)
      select s, p from unnest(hold_subjects, hold_periods) x(s, p) order by s collate "C", p collate "C"
      on conflict (subject, period) do update set held = excluded.held where false;
    select array_agg(b.nano + b.held order by x.n) into used
      from unnest(hold_subjects, hold_periods) with ordinality x(s, p, n)
      join spends b on b.subject = x.s and b.period = x.p;
  end if;
  for i in 1 .. cardinality(ids) loop
    if ids[i] = any(open) then
      held[i] := null;
      return query select i, -1, 0::bigint;
      continue;
    end if;
    a := account_at[places[i]];
    too_little := null;
    if worsts[i] > 0 then
      if a > 0 then
        if balance[a] < leasts[i] then
          too_little := 0;
          room := balance[a];
        else
          held[i] := least(held[i], balance[a]);
        end if;
      end if;
      for k in first_hold[places[i]] .. last_hold[places[i]] loop
        exit when too_little is not null;
        if used[hold_at[k]] + leasts[i] > caps[k] then
          too_little := k - first_hold[places[i]] + 1;
          room := greatest(caps[k] - used[hold_at[k]], 0);
        else
          held[i] := least(held[i], caps[k] - used[hold_at[k]]);
        end if;
      end loop;
    end if;
    if too_little is not null then
      held[i] := null;
      return query select i, too_little, room;
      continue;
    end if;
    if held[i] < worsts[i] then
      return query select i, null::int, held[i];
    end if;
    if a > 0 then
      balance[a] := balance[a] - held[i];
      taken[a] := taken[a] + held[i];
    end if;
    for k in first_hold[places[i]] .. last_hold[places[i]] loop
      used[hold_at[k]] := used[hold_at[k]] + held[i];
      added[hold_at[k]] := added[hold_at[k]] + held[i];
    end loop;
  end loop;

  update balances b set nano = b.nano - t from unnest(accounts, taken) x(id, t) where b.account_id = x.id and t > 0;
  update spends s set held = s.held + t from unnest(hold_subjects, hold_periods, added) x(s, p, t)
    where s.subject = x.s and s.period = x.p and t > 0;
  perform reserved_calls(process, shared, payers, subjects, periods, account_at, ids, starts, held, places);
end $$;
