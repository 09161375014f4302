-- When a computer's link broke without its daemon saying that it leaves: for a while it is expected back. Null: it is linked, was
-- never, or left.

alter table computers add column lost_at timestamptz;
