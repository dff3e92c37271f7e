// The one place where the bodies of Asio and Beast are compiled (see CMakeLists.txt).

#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
