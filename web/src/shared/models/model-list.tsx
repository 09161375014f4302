import { Autocomplete } from '@base-ui/react/autocomplete'
import { Popover } from '@base-ui/react/popover'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import type { Model } from '../api.ts'
import { sayError } from '../../ui/calls/errors.ts'
import { modelsQuery } from './queries.ts'
import { perMillion, short } from '../../ui/text/format.ts'
import { Picked, type PickerProps, pickerClass } from './picked.tsx'

const popup =
  'flex w-[min(30rem,calc(100vw-2rem))] flex-col border border-keyline bg-sheet shadow-[0_12px_32px_-12px_rgb(8_14_22/.4)] outline-none'

/** Lazy: loaded when the picker is first opened. */
export default function ModelList({ model, byServer = null, onModel }: PickerProps) {
  const [open, setOpen] = useState(true)
  const [words, setWords] = useState('')
  const deferredWords = useDeferredValue(words.trim())
  const {
    data = [],
    isPending,
    error,
  } = useQuery({ ...modelsQuery(deferredWords), placeholderData: keepPreviousData, enabled: open })
  const choose = (slug: string): void => {
    setOpen(false)
    setWords('')
    onModel(slug)
  }
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger className={pickerClass}>
        <Picked model={model} byServer={byServer} />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner side="top" align="start" sideOffset={6} className="z-30">
          <Popover.Popup className={popup} aria-label="Models">
            <Autocomplete.Root
              inline
              open
              items={data}
              value={words}
              onValueChange={(value, { reason }) => {
                // Selecting a model doesn't type its name.
                if (reason !== 'item-press') setWords(value)
              }}
              itemToStringValue={({ slug }: Model) => slug}
              filter={null}
              autoHighlight="always"
            >
              <Autocomplete.Input
                aria-label="Search models"
                placeholder="Search models"
                spellCheck={false}
                className="m-2 mb-1 h-9 border border-keyline bg-paper px-2.5 text-base outline-none sm:text-sm"
              />
              <Autocomplete.List className="max-h-[min(22rem,50dvh)] overflow-y-auto overscroll-contain pb-1">
                {(item: Model) => (
                  <Autocomplete.Item
                    key={item.slug}
                    value={item}
                    onClick={() => choose(item.slug)}
                    className="flex cursor-default flex-wrap items-baseline gap-x-3 px-3 py-1.5 outline-none select-none data-highlighted:bg-ai-wash"
                  >
                    <span className="min-w-0 flex-1 text-sm break-all">{item.slug}</span>
                    <span className="figures text-xs text-quiet">{aboutOf(item)}</span>
                  </Autocomplete.Item>
                )}
              </Autocomplete.List>
              <Autocomplete.Empty className="px-3 pb-3 text-sm text-quiet empty:hidden">
                {isPending
                  ? null
                  : error
                    ? `The models can’t be loaded. ${sayError(error)}`
                    : 'No available model matches. You can add providers in AI routing.'}
              </Autocomplete.Empty>
            </Autocomplete.Root>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

const aboutOf = ({ pricing, context_length }: Model): string =>
  [
    context_length !== null && `${short(context_length)} context`,
    pricing === null ? 'price unknown' : `${perMillion(pricing.input)} input, ${perMillion(pricing.output)} output`,
  ]
    .filter(Boolean)
    .join(' · ')
