import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Host, makeFolderFor } from '../host.ts'
import { run } from '../run.ts'

export interface DiskQuota {
  /** Null: no limit. */
  set(number: bigint, mb: number | null): Promise<void>
}

const PROBE_KB = 1_024

/**
 * Null without quotas. They need root (for one account per computer), a file system with user quotas (`usrquota`,
 * `uquota`) and setquota(8). Enforcement is tested.
 */
export async function openDiskQuota(host: Host): Promise<DiskQuota | null> {
  const account = host.accountOf(0n)
  if (account === null || (await run(['setquota', '--version'])).code === null) return null
  const { stdout } = await run(['df', '--output=target', host.folder])
  const mount = stdout.trim().split('\n').at(-1) ?? '/'
  const set = async (uid: number, kb: number): Promise<boolean> =>
    (await run(['setquota', '-u', String(uid), '0', String(kb), '0', '0', mount])).code === 0
  const folder = join(host.folder, `quota-${process.pid}`)
  try {
    makeFolderFor(folder, account)
    if (!(await set(account.uid, PROBE_KB))) return null
    const { uid, gid } = account
    const words = [
      `--reuid=${uid}`,
      `--regid=${gid}`,
      '--clear-groups',
      '--',
      'dd',
      'if=/dev/zero',
      `of=${folder}/file`,
    ]
    const { code } = await run(['setpriv', ...words, 'bs=1024', `count=${2 * PROBE_KB}`])
    if (code === 0) return null
  } finally {
    await rm(folder, { recursive: true, force: true })
    await set(account.uid, 0)
  }
  return {
    async set(number, mb) {
      await set(host.accountOf(number)!.uid, mb === null ? 0 : mb * 1_024)
    },
  }
}
