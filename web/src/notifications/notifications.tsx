import { useQuery } from '@tanstack/react-query'
import { plural } from '../ui/text/format.ts'
import { Failure, Waiting } from '../ui/notice.tsx'
import { Page, Section } from '../ui/page.tsx'
import { Confirmation } from './confirmation.tsx'
import { Grid } from './grid.tsx'
import { browsersQuery, preferencesQuery } from './queries.ts'
import { ThisBrowser } from './this-browser.tsx'
import { useIsSaving } from './use-preference.ts'

export function Notifications() {
  const { data, error, refetch } = useQuery(preferencesQuery)
  const { data: browsers } = useQuery(browsersQuery)
  const isSaving = useIsSaving()
  return (
    <Page title="Notifications" lead="Choose your notifications in the app, by email and by push.">
      <Confirmation />
      <ThisBrowser />
      <Section
        title="Channels"
        about={
          browsers &&
          (browsers.length === 0
            ? 'No browser receives push notifications yet. Turn them on above.'
            : `${plural(browsers.length, 'browser receives', 'browsers receive')} push notifications.`)
        }
        action={
          <p role="status" className="text-sm text-quiet">
            {isSaving ? 'Saving …' : 'Changes are saved automatically.'}
          </p>
        }
      >
        {error && !data ? (
          <Failure what="Your preferences" error={error} again={refetch} />
        ) : !data ? (
          <Waiting what="your preferences" rows={6} />
        ) : (
          <Grid preferences={data.preferences} />
        )}
      </Section>
    </Page>
  )
}
