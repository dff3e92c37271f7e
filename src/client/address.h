// Addresses that are never contacted, whatever name led there: a listed name that resolves to one
// of them has been hijacked (DNS rebinding), as no provider lives there.

#ifndef WAYBILL_CLIENT_ADDRESS_H_
#define WAYBILL_CLIENT_ADDRESS_H_

#include <sys/socket.h>

#include <string>

namespace waybill::client {

// True for link-local addresses (RFC 3927, RFC 4291 §2.5.6), where cloud hosts serve their
// credentials, for the cloud metadata addresses outside that range, and for IPv4 forms of these
// inside IPv6.
bool forbidden_address(const sockaddr& address);

// The same for a host as in Url::host; false for names.
bool forbidden_host(const std::string& host);

}  // namespace waybill::client

#endif  // WAYBILL_CLIENT_ADDRESS_H_
