import { Menu } from '@base-ui/react/menu'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { workspacesQuery } from '../../shared/session.ts'
import { Icon } from '../../ui/icons.tsx'
import { chooseWorkspace, useWorkspace } from '../../shared/workspace.ts'
import { Here, Initial, type Words, switcherClass } from './here.tsx'

const item =
  'flex min-h-9 w-full cursor-default items-center gap-2.5 px-3 py-1.5 text-sm outline-none select-none data-highlighted:bg-ai-wash'

/** Lazy: loaded when the switcher is first opened. */
export default function SwitcherMenu({ words }: { words: Words }) {
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const current = useWorkspace()
  const navigate = useNavigate()
  return (
    <Menu.Root defaultOpen>
      <Menu.Trigger title={current?.name} className={switcherClass}>
        <Here words={words} name={current?.name} />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner align="start" sideOffset={4} className="z-50 outline-none">
          <Menu.Popup className="max-h-[70dvh] w-60 max-w-[calc(100vw-1rem)] overflow-y-auto border border-keyline bg-sheet py-1 shadow-[0_12px_32px_-12px_rgb(8_14_22/.4)] outline-none">
            <Menu.RadioGroup
              aria-label="Workspaces"
              value={current?.id ?? null}
              onValueChange={(id: string) => {
                const chosen = workspaces.find((one) => one.id === id)
                if (chosen) chooseWorkspace(chosen)
              }}
            >
              {workspaces.map(({ id, name }) => (
                <Menu.RadioItem key={id} value={id} closeOnClick className={item}>
                  <Initial name={name} />
                  <span className="min-w-0 flex-1 truncate">{name}</span>
                  <Menu.RadioItemIndicator>
                    <Icon name="check" />
                  </Menu.RadioItemIndicator>
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
            <Menu.Separator className="my-1 border-t border-line" />
            <Menu.Item className={item} onClick={() => void navigate({ to: '/workspaces' })}>
              Members and invitations
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
