import { mkdirSync, readFileSync, readdirSync, rmdirSync, statfsSync, writeFileSync } from 'node:fs'
import type { ControlGroups, GroupFiles } from './groups.ts'
import { version1 } from './version1.ts'
import { version2 } from './version2.ts'

const kernel: GroupFiles = {
  read: (file) => readFileSync(file, 'utf8'),
  write: (file, text) => writeFileSync(file, text, { flag: 'r+' }),
  list: (folder) => readdirSync(folder),
  make: (folder) => void mkdirSync(folder, { recursive: true }),
  remove: (folder) => rmdirSync(folder),
  kind: (folder) => statfsSync(folder).type,
}

/**
 * Null if none can be created. On version 1, `mkdir` in the wrong place succeeds and limits nothing, so the new folder
 * is checked.
 */
export function openControlGroups(files: GroupFiles = kernel): ControlGroups | null {
  for (const open of [...version2, version1]) {
    const groups = probed(open, files)
    if (groups !== null) return groups
  }
  return null
}

function probed(open: (files: GroupFiles) => ControlGroups, files: GroupFiles): ControlGroups | null {
  const id = `probe-${process.pid}`
  let groups: ControlGroups | null = null
  try {
    groups = open(files)
    groups.make({ id, cpu: 1, memoryMb: 64, processes: 16 })
    return groups
  } catch {
    return null
  } finally {
    groups?.remove(id)
  }
}
