import { clusterName } from './holders.ts'
import { port } from './socket.ts'

/**
 * Settings for a small server next to its application. Passed on the command line, so releases can change them without
 * editing the cluster. Others can be set in `{cluster}/postgresql.conf`.
 */
const settings: Record<string, string | number> = {
  listen_addresses: '',
  port,
  unix_socket_permissions: '0700',
  // A server process takes up to 47 (docs/operating/scaling.md); several share this one.
  max_connections: 400,
  shared_buffers: '128MB',
  max_wal_size: '512MB',
  // Required for online backups, at little cost over `minimal`.
  wal_level: 'replica',
  max_wal_senders: 2,
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  autovacuum: 'on',
  // Compiling takes longer than our queries.
  jit: 'off',
  // Most reads hit the page cache, so the default's three worker processes would only add latency.
  io_method: 'sync',
  // No logical replication: one process fewer.
  max_logical_replication_workers: 0,
  timezone: 'UTC',
  // To stderr, which the supervisor reads. The application reports failed statements; their text may be private.
  logging_collector: 'off',
  log_destination: 'stderr',
  log_timezone: 'UTC',
  log_line_prefix: '',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
}

export const serverArgs = (
  cluster: string,
  socketDir: string,
  other: Readonly<Record<string, string>> = {},
): string[] => [
  '-D',
  cluster,
  ...Object.entries({
    ...settings,
    ...other,
    cluster_name: clusterName(cluster),
    unix_socket_directories: socketDir,
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
]
