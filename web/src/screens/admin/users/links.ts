/** Returns the address of the page that opens a link. The token is after the `#`, which browsers do not send. */
export const addressOf = (token: string) => `${location.href.split('#')[0]}#/link/${token}`;
