export interface DriveSearch {
  /** At the root: the workspace. */
  workspace?: string
  sort?: string
  view?: 'grid'
  q?: string
  regex?: true
}

export const driveIn = ({ workspace, sort, view, q, regex }: Record<string, unknown>): DriveSearch => ({
  ...(typeof workspace === 'string' && { workspace }),
  ...(typeof sort === 'string' && { sort }),
  ...(view === 'grid' && { view }),
  ...(q !== undefined && q !== '' && { q: String(q) }),
  ...(regex === true && { regex }),
})

export interface FileSearch {
  panel?: 'versions'
  version?: number
  line?: number
}

const whole = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined

export const fileIn = ({ panel, version, line }: Record<string, unknown>): FileSearch => ({
  ...(panel === 'versions' && { panel }),
  ...(whole(version) !== undefined && { version: whole(version)! }),
  ...(whole(line) !== undefined && { line: whole(line)! }),
})

const LAST = 'uk-drive-workspace'
export const lastWorkspace = {
  get: (): string | null => localStorage.getItem(LAST),
  set: (id: string): void => localStorage.setItem(LAST, id),
}
