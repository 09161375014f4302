-- What media are measured in beside pictures and seconds of sound.

alter table calls add column characters bigint not null default 0,
  add column video_seconds double precision not null default 0;
alter table usage_days add column characters bigint not null default 0,
  add column video_seconds double precision not null default 0;
