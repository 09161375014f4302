import { useQuery } from '@tanstack/react-query'
import type { Workspace } from './api.ts'
import { deviceSetting, useDeviceSetting } from './device-setting.ts'
import { workspacesQuery } from './session.ts'

const chosen = deviceSetting('ukiyo.workspace')

export const chooseWorkspace = ({ id }: Workspace): void => chosen.set(id)

/**
 * The workspace for new resources: the one last selected on this device, otherwise the personal one. Null while
 * loading.
 */
export function useWorkspace(): Workspace | null {
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const id = useDeviceSetting(chosen)
  return workspaces.find((one) => one.id === id) ?? workspaces.find(({ kind }) => kind === 'personal') ?? null
}
