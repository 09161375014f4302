import type { ComponentProps } from 'react'
import { Icon, type IconName } from './icons.tsx'

export type Look = 'primary' | 'plain' | 'quiet' | 'danger' | 'danger-plain'

const base =
  'inline-flex items-center justify-center gap-1.5 rounded-xs border text-sm leading-none font-medium whitespace-nowrap select-none transition-colors duration-150 disabled:cursor-not-allowed disabled:opacity-55 aria-busy:cursor-progress'
const looks: Record<Look, string> = {
  primary: 'border-ai bg-ai text-on-ai hover:not-disabled:border-ai-deep hover:not-disabled:bg-ai-deep',
  plain: 'border-keyline bg-sheet text-ink hover:not-disabled:border-ink hover:not-disabled:bg-paper',
  quiet:
    'border-transparent bg-transparent text-quiet hover:not-disabled:bg-sunk hover:not-disabled:text-ink aria-pressed:border-keyline aria-pressed:bg-sunk aria-pressed:text-ink',
  danger: 'border-seal bg-seal text-on-seal hover:not-disabled:brightness-95',
  'danger-plain': 'border-keyline bg-sheet text-seal hover:not-disabled:border-seal hover:not-disabled:bg-seal-wash',
}

export const buttonClass = (look: Look = 'plain', square = false): string =>
  `${base} ${looks[look]} ${square ? 'size-9' : 'h-9 px-3.5'}`

export interface ButtonProps extends ComponentProps<'button'> {
  look?: Look
  icon?: IconName
  /** The action is running; presses are ignored. */
  pending?: boolean
}

export function Button({ look = 'plain', icon, pending = false, className = '', children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      // Not `disabled`: that would drop the focus of the pressed button.
      aria-busy={pending || undefined}
      aria-disabled={pending || undefined}
      onClick={pending ? (event) => event.preventDefault() : rest.onClick}
      className={`${buttonClass(look)} ${className}`}
    >
      {icon && <Icon name={icon} className="size-4" />}
      {children}
      {pending && (
        <span
          aria-hidden="true"
          className="-mr-1 ml-0.5 size-3 animate-spin rounded-full border-[1.5px] border-current border-r-transparent"
        />
      )}
    </button>
  )
}

/** Icon only; `label` is its accessible name. */
export function IconButton({
  label,
  icon,
  look = 'quiet',
  className = '',
  ...rest
}: ButtonProps & { label: string; icon: IconName }) {
  return (
    <button
      type="button"
      {...rest}
      aria-label={label}
      title={label}
      className={`${buttonClass(look, true)} ${className}`}
    >
      <Icon name={icon} />
    </button>
  )
}
