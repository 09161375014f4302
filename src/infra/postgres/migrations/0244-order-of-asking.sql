-- What a daemon answers about its models and engines is noted in the order in which it was asked for: of two answers under way
-- at once, that of the earlier question may come last and tell of what is over.
create sequence questions_to_daemons;
alter table computers add column models_asked bigint not null default 0, add column engines_asked bigint not null default 0;
