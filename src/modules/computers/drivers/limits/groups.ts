/** Control groups as this program uses them, of either version. */
import type { Box } from '../driver.ts'

export type Limits = Pick<Box, 'id' | 'cpu' | 'memoryMb' | 'processes'>

export interface ControlGroups {
  /** Makes the groups of a computer. Answers the files into which its first process writes itself. */
  make(limits: Limits): string[]
  remove(id: string): void
}

/** The calls to the kernel; each throws as Node's own. */
export interface GroupFiles {
  read(file: string): string
  /** Writes into a file that is there. */
  write(file: string, text: string): void
  list(folder: string): string[]
  make(folder: string): void
  remove(folder: string): void
  /** The kind of a file system: `statfs(2)`. */
  kind(folder: string): number
}

export const MOUNT = '/sys/fs/cgroup'
export const PERIOD_US = 100_000

export function removeGroup(files: GroupFiles, folder: string): void {
  try {
    files.remove(folder)
  } catch {
    // A process is in it still, or it was never made.
  }
}
