import { Autocomplete } from '@base-ui/react/autocomplete'
import { Dialog } from '@base-ui/react/dialog'
import { useState } from 'react'
import { UnreadBar } from '../../ui/dialogs/unread-bar.tsx'
import { Icon } from '../../ui/icons.tsx'
import { useSettled } from '../../ui/typing/settled.ts'
import { Keys } from '../../ui/text/kbd.tsx'
import type { Command, Group } from './commands.ts'
import { show } from './open.ts'
import { useCommands } from './use-commands.ts'

export default function Palette() {
  const [words, setWords] = useState('')
  const trimmed = words.trim()
  const asked = useSettled(trimmed, 120)
  const { groups, busy } = useCommands(trimmed, asked)
  return (
    <Dialog.Root open onOpenChange={(open) => show(open ? 'palette' : 'nothing')}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-[#0b1017]/45" />
        <Dialog.Popup
          aria-label="Search or run a command"
          className="fixed inset-x-2 top-2 z-50 mx-auto flex max-h-[min(34rem,calc(100dvh-1rem))] max-w-[40rem] flex-col border border-keyline bg-sheet shadow-[0_24px_60px_-20px_rgb(8_14_22/.45)] outline-none rail:top-[12dvh] rail:max-h-[min(34rem,76dvh)]"
        >
          <Autocomplete.Root
            inline
            open
            items={groups}
            value={words}
            onValueChange={(value, { reason }) => {
              // Selecting an option doesn't type its name.
              if (reason !== 'item-press') setWords(value)
            }}
            itemToStringValue={({ label }: Command) => label}
            filter={null}
            autoHighlight="always"
            keepHighlight
          >
            <div role="search" className="flex items-center gap-2.5 border-b border-line px-4">
              <Icon name="search" className="size-4 text-quiet" />
              <Autocomplete.Input
                aria-label="Search or run a command"
                placeholder="Search or run a command"
                spellCheck={false}
                className="h-12 min-w-0 flex-1 bg-transparent text-base outline-none"
              />
              <Dialog.Close className="text-xs text-quiet hover:text-ink">Esc</Dialog.Close>
            </div>
            <UnreadBar />
            <Autocomplete.List
              aria-busy={busy}
              className="min-h-0 flex-1 scroll-py-1 overflow-y-auto overscroll-contain py-1"
            >
              {(group: Group) => (
                <Autocomplete.Group key={group.value} items={group.items}>
                  <Autocomplete.GroupLabel className="eyebrow px-4 pt-2.5 pb-1">{group.value}</Autocomplete.GroupLabel>
                  <Autocomplete.Collection>
                    {(command: Command) => (
                      <Autocomplete.Item
                        key={command.id}
                        value={command}
                        onClick={() => {
                          show('nothing')
                          command.run()
                        }}
                        className="flex min-h-9 cursor-default items-center gap-2.5 px-4 text-sm outline-none select-none data-highlighted:bg-ai-wash pointer-coarse:min-h-11"
                      >
                        <Icon name={command.icon} className="size-4 text-quiet" />
                        <span className="min-w-0 flex-1 truncate">{command.label}</span>
                        {command.about && <span className="text-xs text-quiet">{command.about}</span>}
                        {command.keys && <Keys keys={command.keys} />}
                      </Autocomplete.Item>
                    )}
                  </Autocomplete.Collection>
                </Autocomplete.Group>
              )}
            </Autocomplete.List>
          </Autocomplete.Root>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
