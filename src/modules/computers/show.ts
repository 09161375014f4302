import type { z } from 'zod'
import type { Principal } from '#core/principal.ts'
import { membershipIn } from '#core/principal.ts'
import { iso, isoOrNull } from '#core/time.ts'
import { capabilitiesOf } from './access.ts'
import type { Computer } from './contract-computer.ts'
import type { ComputerRow } from './store.ts'

/** Only owners see all exposures. */
export function showComputer(principal: Principal, row: ComputerRow): z.output<typeof Computer> {
  const owns = membershipIn(principal, row.workspace_id) !== null
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    owner:
      row.account_id === null ? { type: 'workspace', id: row.workspace_id } : { type: 'account', id: row.account_id },
    os: row.os,
    arch: row.arch,
    hostname: row.hostname,
    daemon_version: row.daemon_version,
    lifecycle: row.lifecycle,
    connection: row.online ? 'online' : row.last_seen_at === null ? 'never_connected' : 'offline',
    engine: row.engine,
    last_seen_at: isoOrNull(row.last_seen_at),
    allows: row.allows,
    limits: row.limits && { disk_mb: null, disk_enforced: false, ...row.limits },
    lifecycle_reason: row.lifecycle === 'error' ? row.reason : null,
    driver: row.driver,
    image: row.image,
    exposures: row.exposures
      .filter(({ workspace_id }) => owns || membershipIn(principal, workspace_id) !== null)
      .map(({ workspace_id, capabilities, created_at }) => ({
        workspace_id,
        capabilities,
        created_at: iso(new Date(created_at)),
      })),
    my_capabilities: capabilitiesOf(principal, row),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  }
}
